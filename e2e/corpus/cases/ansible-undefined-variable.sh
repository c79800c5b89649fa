# kind: configuration
# category: configuration
# decisive: 'app_port' is undefined
cat >play.yml <<'END'
- hosts: localhost
  connection: local
  gather_facts: false
  vars:
    app_port: 8080
  tasks:
    - name: write the release
      copy: { content: "release 4\n", dest: "./release" }
    - name: write the settings
      copy: { content: "port={{ app_port }}\n", dest: "./settings" }
END
good || sed -i '/app_port: 8080/d; s/^  vars:$/  vars: {}/' play.yml
export ANSIBLE_LOCAL_TEMP=$PWD/local ANSIBLE_REMOTE_TEMP=$PWD/remote ANSIBLE_NOCOLOR=1 ANSIBLE_LOCALHOST_WARNING=false
ansible-playbook play.yml
